-- TATP's four tables, with their keys, sharded by the hashes of subscribers.
CREATE TABLE tatp_subscriber (s_id bigint NOT NULL, sub_nbr varchar(15) NOT NULL{{details}}, PRIMARY KEY (s_id HASH));
CREATE TABLE tatp_access_info (s_id bigint NOT NULL, ai_type int NOT NULL, data1 int, data2 int, data3 char(3), data4 char(5), PRIMARY KEY (s_id HASH, ai_type ASC));
CREATE TABLE tatp_special_facility (s_id bigint NOT NULL, sf_type int NOT NULL, is_active int NOT NULL, error_cntrl int, data_a int, data_b char(5), PRIMARY KEY (s_id HASH, sf_type ASC));
CREATE TABLE tatp_call_forwarding (s_id bigint NOT NULL, sf_type int NOT NULL, start_time int NOT NULL, end_time int, numberx varchar(15), PRIMARY KEY (s_id HASH, sf_type ASC, start_time ASC));
