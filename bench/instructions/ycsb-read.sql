\set last acknowledged('inserted', :recordcount + :inserted)
\set index scrambled_zipfian(0, 0 + (:recordcount + :inserted) + int(2 * :recordcount * :insertproportion), :theta, :last)
\set index readable('inserted', :recordcount + :inserted, :index)
\set number case when :index < :recordcount then :recordstart + :index else (:recordstart + :recordcount) + :index - :recordcount end
\set ycsb_key ycsb_key(:number, 'java', :zeropadding)
SELECT * FROM usertable WHERE ycsb_key = :ycsb_key;
