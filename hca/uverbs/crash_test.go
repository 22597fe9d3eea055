package uverbs_test

func daemonMain(string) int { return 1 }
