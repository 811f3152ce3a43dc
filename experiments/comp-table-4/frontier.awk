# A frontier with its request before it.
{ print request "," col("memory_bytes") "," col("time_us") }
END { if (csv_failed) exit 1 }
