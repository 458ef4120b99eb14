-- What a subscriber may access by one type; 62.5 of 100 have it.
{{subscriber}}
\set ai_type random(1, 4)
SELECT data1, data2, data3, data4 FROM tatp_access_info WHERE s_id = :s_id AND ai_type = :ai_type;
