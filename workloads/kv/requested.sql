-- Keys of numbers that were written; key 0 before there is one. After a whole cycle all are there.
\set last least(acknowledged('written', :write_seq), :cycle_length - 1)
{{for i 0 (:batch - 1)}}
\if :last < 0
\set k{{i}} 0
\else
\set number uniform(0, greatest(:last, 0))
\set k{{i}} {{key}}
\endif
{{end}}
