clips = experiment.sql("""
    SELECT substr(label, 1, 8) AS source, substr(label, 10) AS clip, planner, ms FROM plans
    WHERE planner IN ('fbs', 'fbs-best', 'dp-vbs') AND (label LIKE 'modelled%' AND judge = 'self' AND mib = 4096
        OR label LIKE 'measured%' AND judge = 'second' AND mib = 300)
""")
clips["panel"] = clips.source.map({"modelled": "modelled, 4 GiB: frames of 224x224", "measured": "measured, 300 MiB"})
other = (clips.source == "modelled") & ~clips["clip"].str.endswith("x224x224")
clips.loc[other | (clips["clip"] == "16x224x224") & (clips.source == "modelled"), "size"] = True
frames = clips[(clips.source == "modelled") & clips["clip"].str.endswith("x224x224")].assign(panel="modelled, 4 GiB: by frames")
sizes = clips[(clips.source == "modelled") & clips["clip"].str.startswith("16x")].assign(panel="modelled, 4 GiB: by size")
measured = clips[clips.source == "measured"]
for rows in (frames, sizes, measured):
    figure, (axis,) = curves(
        rows, "clip", "ms", line="planner", panel="panel", size=(7, 3.2),
        xlabel="frames x height x width", ylabel="time per clip (ms)", ylim=(0, None),
    )
