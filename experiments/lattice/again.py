# The curve of dp-vbs+ for ResNet-50 anew, and its points up to 80 MB beside those of frontier.csv.
curve = experiment.profile("resnet-50-a").frontier("dp-vbs+", request=12)
kept = experiment.sql("SELECT memory_bytes, time_us FROM frontier WHERE curve = 'dp-vbs+' AND memory_bytes < 80e6")
now = curve.to_dataframe()[["memory_bytes", "time_us"]]
now = now[now.memory_bytes < 80e6]
same = len(now) == len(kept) and (now.memory_bytes.values == kept.memory_bytes.values).all()
print(len(now), "points;", "the same" if same else "others than", "in frontier.csv")
now.head()
