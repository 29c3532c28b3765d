// The devices of imported traces: how busy each was, and why it was idle.
import type { DeviceTime } from "../../api/explain";
import { TimeBar } from "../../board/TimeBar";
import { plural } from "../../format/units";
import { busyWords, deviceParts } from "./found";

export interface DevicesProps {
  devices: readonly DeviceTime[];
  // The run's place in the palette.
  slot: number;
}

const kMostDevices = 16;

export function Devices({ devices, slot }: DevicesProps) {
  if (devices.length === 0) return null;
  return (
    <section className="words" aria-label="Devices" data-testid="devices">
      <h3>
        Devices <span className="quiet">from kernels and copies of imported traces</span>
      </h3>
      {devices.slice(0, kMostDevices).map((one) => (
        <div key={one.device} className="device">
          <div className="lane">
            <span className="cut quiet" title={one.device}>
              {one.device}
            </span>
            <TimeBar parts={deviceParts(one)} slot={slot} label={`Time of ${one.device}`} />
          </div>
          <p>
            {one.text} <span className="quiet">{busyWords(one)}</span>
          </p>
        </div>
      ))}
      {devices.length > kMostDevices && (
        <p className="quiet">
          and {plural(devices.length - kMostDevices, "more device")}: corral explain lists them
        </p>
      )}
    </section>
  );
}
