/* A training without Python: EPOCHS lines, each after some CPU time, then the exit status STATUS. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  int epochs = argc > 1 ? atoi(argv[1]) : 1;
  int status = argc > 2 ? atoi(argv[2]) : 0;
  volatile double loss = 1;
  printf("run %s\n", getenv("CORRAL_RUN_ID") ? getenv("CORRAL_RUN_ID") : "none");
  for (int epoch = 0; epoch < epochs; ++epoch) {
    clock_t end = clock() + CLOCKS_PER_SEC / 4;
    while (clock() < end) loss = loss * 0.999999 + 0.0000001;
    printf("epoch %d\n", epoch);
    fflush(stdout);
  }
  return status;
}
