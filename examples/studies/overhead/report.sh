for value in training_s whole_s cpu_s memory_mb disk_mb; do
  corral report $size.csv --metric $value --of last -o $size-$value.html
done
