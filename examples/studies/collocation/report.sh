corral collocation $size.csv
corral collocation $size.csv --format csv > $size-slowdowns.csv
if [ $size = full ]; then
  set -- 33-S 33-M 33-L 34-S 34-M 34-L 35-S 35-M 35-L 36-S 36-M 36-L
else
  set -- collocation-S collocation-M collocation-L
fi
for experiment; do corral report "$experiment" -o "$experiment.html"; done
