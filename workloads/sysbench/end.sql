-- sysbench draws a number for its histogram when an event is over.
{{if :histogram_draw}}
\set drawn random(0, 1)
{{end}}
