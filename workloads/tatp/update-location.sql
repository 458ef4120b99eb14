-- Where a subscriber is now, by number.
{{number}}
\set location random(1, 4294967295)
UPDATE tatp_subscriber SET vlr_location = :location WHERE sub_nbr = :sub_nbr;
