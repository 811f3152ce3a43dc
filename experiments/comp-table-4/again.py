# The fixed batches of COMP's profile anew: 64 images in 1.5, 2 and 2.5 times the model.
profile = experiment.profile("alexnet-comp")
kept = experiment.sql("SELECT times_the_model, memory_bytes, time_us AS kept_us FROM plans WHERE schedule = 'fbs-best' AND repeats = 1 AND images = 64")
kept["now_us"] = [profile.plan(int(size), "fbs-best", request=64).time_us for size in kept.memory_bytes]
kept["same"] = (kept.now_us - kept.kept_us).abs() < 0.01
kept
