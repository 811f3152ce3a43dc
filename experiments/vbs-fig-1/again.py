# ResNet-50's time at each batch, summed up from the rows of the first profile: each layer by its fastest
# algorithm.
rows = experiment.profile("resnet-50-a").to_dataframe()
sums = rows.groupby(["batch", "layer"]).time_us.min().groupby("batch").sum()
now = (sums / sums.index / 1000).rename("now_ms").reset_index()
kept = experiment.sql("SELECT batch, self_ms AS kept_ms FROM time_per_image WHERE network = 'resnet-50'")
both = now.merge(kept, on="batch")
both["same"] = (both.now_ms - both.kept_ms).abs() < 1e-6  # kept with six digits
both.round(3)
