CREATE UNIQUE INDEX tatp_subscriber_number ON tatp_subscriber (sub_nbr);
{{if :foreign_keys}}
ALTER TABLE tatp_access_info ADD CONSTRAINT tatp_access_info_of FOREIGN KEY (s_id) REFERENCES tatp_subscriber;
ALTER TABLE tatp_special_facility ADD CONSTRAINT tatp_special_facility_of FOREIGN KEY (s_id) REFERENCES tatp_subscriber;
ALTER TABLE tatp_call_forwarding ADD CONSTRAINT tatp_call_forwarding_of FOREIGN KEY (s_id, sf_type) REFERENCES tatp_special_facility;
{{end}}
