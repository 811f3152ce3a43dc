# The steps of plans of a network with two layers as moves in the plane: from where, how far.
BEGIN { print "plan,x,y,dx,dy,batch" }
{
    p = col("plan")
    dx = col("layer") == 1 ? col("batch") : 0
    dy = col("layer") == 2 ? col("batch") : 0
    print p "," x[p] + 0 "," y[p] + 0 "," dx "," dy "," col("batch")
    x[p] += dx
    y[p] += dy
}
END { if (csv_failed) exit 1 }
