# The batches that the two plans give a few of GoogLeNet's layers, planned anew in 20 MiB by the Python
# package, beside those of unused.csv.
profile, plans = experiment.profile("googlenet-a"), {}
for planner in ("fbs", "dp-vbs"):
    steps = profile.plan("20MiB", planner, request=12, io="resident").to_dataframe()
    plans[planner] = steps.groupby("name", sort=False).batch.agg(lambda batches: " ".join(map(str, batches)))
kept = experiment.sql("SELECT name, fbs_batches, dp_vbs_batches FROM unused").set_index("name")
kept.join(plans["fbs"].rename("fbs, now")).join(plans["dp-vbs"].rename("dp-vbs, now")).iloc[::12]
