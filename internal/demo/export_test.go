package demo

// ReadStudy reads a study from a folder with the files nafld1.csv, nafld2.csv and
// nafld3.csv, as R's write.csv makes them without row names and with empty fields
// for NA. The folder is the caller's and must stay while the study is in use.
func ReadStudy(dir string) (*Study, error) {
	s := &Study{dir: dir}
	if err := s.survey(); err != nil {
		return nil, err
	}
	return s, nil
}
