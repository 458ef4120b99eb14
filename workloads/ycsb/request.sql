-- Which row: an index among those that are there, 0 the first one loaded. Behind those loaded come
-- those that runs have inserted, as far as they are committed.
\set last acknowledged('inserted', :recordcount + :inserted)
{{if :requestdistribution = 'zipfian'}}
\set index scrambled_zipfian({{first}}, {{first}} + {{rows}} + {{if :operationcount > 0}}int(2 * :operationcount * :insertproportion){{else}}int(2 * :recordcount * :insertproportion){{end}}, :theta, :last)
{{elif :requestdistribution = 'uniform'}}
\set index uniform({{first}}, {{first}} + {{rows}} - 1)
{{elif :requestdistribution = 'latest'}}
\set index {{if :generators = 'ycsb'}}ycsb_latest(0, :last, :recordcount + :inserted - 1){{else}}latest(0, :last, :theta){{end}}
{{elif :requestdistribution = 'hotspot'}}
\set index hotspot({{first}}, {{first}} + {{rows}} - 1, :hotspotdatafraction, :hotspotopnfraction)
{{elif :requestdistribution = 'exponential'}}
\set index exponential(0, :last, :exponentialpercentile, :exponentialfrac{{if :generators = 'ycsb'}}, :recordcount + :inserted{{end}})
{{else}}
\set index sequential('requested', {{first}}, {{first}} + {{rows}} - 1)
{{end}}
\set number case when :index < :recordcount then :recordstart + :index else {{base}} + :index - :recordcount end
\set ycsb_key ycsb_key(:number, {{format}}, :zeropadding)
