"${CORRAL_PYTHON:-python3}" phases.py $size.csv > $size-phases.md
cat $size-phases.md
if [ $size = full ]; then
  for keys in uniform lognormal; do
    corral report index-full-$keys --margin 5% -o $size-$keys.html
  done
else
  corral report $size.csv --margin 5% -o $size.html
fi
