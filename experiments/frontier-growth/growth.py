growth = experiment.sql("""
    SELECT name || ', ' || planner AS line, planner, name, layers, request, seconds, points, series FROM growth WHERE series <> 'networks'
""")
layers, samples = growth[growth.series == "layers"], growth[growth.series != "layers"]
for rows, x in ((layers, "layers"), (samples, "request")):
    for y, label in (("seconds", "time of a solve (s)"), ("points", "breakpoints")):
        figure, axes = curves(
            rows, x, y, line="line", size=(6.4, 3.2), xscale="log", yscale="log",
            xlabel="samples of AlexNet" if x == "request" else "layers, 12 samples", ylabel=label,
        )
