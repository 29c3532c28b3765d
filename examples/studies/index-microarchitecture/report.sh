"${CORRAL_PYTHON:-python3}" phases.py $size.csv > $size-phases.md
cat $size-phases.md
if [ $size = full ]; then
  for keys in uniform lognormal; do
    corral report index-full-$keys -o $size-$keys.html
  done
else
  corral report $size.csv -o $size.html
fi
