-- All of a subscriber.
{{subscriber}}
SELECT s_id, sub_nbr{{for i 1 10}}, bit_{{i}}{{end}}{{for i 1 10}}, hex_{{i}}{{end}}{{for i 1 10}}, byte2_{{i}}{{end}}, msc_location, vlr_location FROM tatp_subscriber WHERE s_id = :s_id;
