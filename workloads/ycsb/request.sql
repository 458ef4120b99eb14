-- Which row: an index among those that are there, 0 the first one loaded. Behind those loaded come
-- those that runs have inserted, as far as they are committed.
\set last acknowledged('inserted', :recordcount + :inserted)
{{if :requestdistribution = 'zipfian'}}
{{if :generators = 'go-ycsb'}}
-- The rank's hash is of its bytes from the other end, and keys not yet inserted are asked for too.
\set index {{first}} + mod(abs(fnv1a(ycsb_zipfian(0, 9999999999), 'big')), {{rows}} + {{ahead}} + 1)
{{else}}
\set index scrambled_zipfian({{first}}, {{first}} + {{rows}} + {{ahead}}, :theta, :last)
{{end}}
{{elif :requestdistribution = 'uniform'}}
\set index uniform({{first}}, {{first}} + {{rows}} - 1)
{{elif :requestdistribution = 'latest'}}
\set index {{if :generators <> 'exact'}}ycsb_latest(0, :last, :recordcount + :inserted - 1){{else}}latest(0, :last, :theta){{end}}
{{elif :requestdistribution = 'hotspot'}}
\set index hotspot({{first}}, {{first}} + {{rows}} - 1, :hotspotdatafraction, :hotspotopnfraction)
{{elif :requestdistribution = 'exponential'}}
\set index exponential(0, :last, :exponentialpercentile, :exponentialfrac{{if :generators <> 'exact'}}, :recordcount + :inserted{{end}})
{{elif :generators = 'go-ycsb'}}
\set index {{first}} + mod(sequential('requested', 1, {{rows}}), {{rows}})
{{else}}
\set index sequential('requested', {{first}}, {{first}} + {{rows}} - 1)
{{end}}
-- Of several generators each reads, among inserted rows, its own.
\set index readable('inserted', :recordcount + :inserted, :index)
\set number case when :index < :recordcount then :recordstart + :index else {{base}} + :index - :recordcount end
\set ycsb_key ycsb_key(:number, {{format}}, :zeropadding)
