corral explain $size.csv
if [ $size = full ]; then set -- edge-full-1x edge-full-4x edge-full-16x; else set -- edge-1x edge-2x; fi
for experiment; do
  corral report $experiment -o $experiment.html
  corral report $experiment --metric run.memory.rss --of max -o $experiment-memory.html
done
