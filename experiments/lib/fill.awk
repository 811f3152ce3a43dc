# Replaces what stands between the marks by the file `results`.
/^<!-- results of .\/run: begin -->$/ {
    print
    while ((getline line < results) > 0)
        print line
    inside = 1
    began++
    next
}
/^<!-- results of .\/run: end -->$/ {
    inside = 0
    ended++
}
!inside { print }
END { exit !(began == 1 && ended == 1 && !inside) }
