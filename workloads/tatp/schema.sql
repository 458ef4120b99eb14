-- TATP's four tables. Their keys come when the rows are in.
CREATE TABLE tatp_subscriber (s_id bigint NOT NULL, sub_nbr varchar(15) NOT NULL{{details}});
CREATE TABLE tatp_access_info (s_id bigint NOT NULL, ai_type int NOT NULL, data1 int, data2 int, data3 char(3), data4 char(5));
CREATE TABLE tatp_special_facility (s_id bigint NOT NULL, sf_type int NOT NULL, is_active int NOT NULL, error_cntrl int, data_a int, data_b char(5));
CREATE TABLE tatp_call_forwarding (s_id bigint NOT NULL, sf_type int NOT NULL, start_time int NOT NULL, end_time int, numberx varchar(15));
