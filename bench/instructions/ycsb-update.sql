\set last acknowledged('inserted', :recordcount + :inserted)
\set index scrambled_zipfian(0, 0 + (:recordcount + :inserted) + int(2 * :recordcount * :insertproportion), :theta, :last)
\set index readable('inserted', :recordcount + :inserted, :index)
\set number case when :index < :recordcount then :recordstart + :index else (:recordstart + :recordcount) + :index - :recordcount end
\set ycsb_key ycsb_key(:number, 'java', :zeropadding)
\set field random(0, :fieldcount - 1)
\if :field = 0
\set value random_string(:fieldlength)
UPDATE usertable SET field0 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 1
\set value random_string(:fieldlength)
UPDATE usertable SET field1 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 2
\set value random_string(:fieldlength)
UPDATE usertable SET field2 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 3
\set value random_string(:fieldlength)
UPDATE usertable SET field3 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 4
\set value random_string(:fieldlength)
UPDATE usertable SET field4 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 5
\set value random_string(:fieldlength)
UPDATE usertable SET field5 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 6
\set value random_string(:fieldlength)
UPDATE usertable SET field6 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 7
\set value random_string(:fieldlength)
UPDATE usertable SET field7 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 8
\set value random_string(:fieldlength)
UPDATE usertable SET field8 = :value WHERE ycsb_key = :ycsb_key;
\elif :field = 9
\set value random_string(:fieldlength)
UPDATE usertable SET field9 = :value WHERE ycsb_key = :ycsb_key;
\endif
