// The energy of a run by component, and how much it used of what it was given. It is read only where this is shown.
import { type EnergyPart, type Footprint as Found, useFootprint } from "../../api/footprint";
import { type Column, Rows } from "../../app/Rows";
import { percent } from "../../format/units";
import {
  componentWords,
  efficiencyWords,
  methodWords,
  missingWords,
  ownWords,
  priceWords,
  unitWords,
  wholeWords,
} from "./footprint";

export interface FootprintProps {
  run: string;
  // The level of its headings.
  level: "h2" | "h3";
}

export function Footprint({ run, level: Heading }: FootprintProps) {
  const { data, error, busy } = useFootprint(run);
  const efficiency = data ? efficiencyWords(data.efficiency) : [];
  return (
    <>
      <section className="words" aria-label="Footprint" data-testid="footprint">
        <Heading>Footprint</Heading>
        {data ? (
          <Energy found={data} />
        ) : (
          <p className="quiet" role="status">
            {error?.message ??
              (busy ? "The server is busy; it is asked again." : "Reading energy …")}
          </p>
        )}
      </section>
      {efficiency.length > 0 && (
        <section className="words" aria-label="Efficiency" data-testid="efficiency">
          <Heading>Efficiency</Heading>
          <Lines of={efficiency} />
        </section>
      )}
    </>
  );
}

const kColumns: Column<EnergyPart>[] = [
  { name: "energy of", cell: ({ component }) => componentWords(component), left: true },
  { name: "sensor", cell: ({ source }) => source, left: true },
  { name: "method", cell: methodWords, left: true },
  { name: "measured", cell: ({ coverage }) => percent(coverage) },
  { name: "whole", cell: wholeWords },
  { name: "of the run", cell: ownWords },
];

const kMostSensors = 16;

function Energy({ found }: { found: Found }) {
  const missing = missingWords(found);
  const units = found.joules === null ? [] : found.units.map(unitWords);
  return (
    <>
      <p>
        {found.provisional && "So far: "}
        {found.summary}
      </p>
      {found.warnings.map((warning) => (
        <p key={warning} className="quiet">
          {warning}
        </p>
      ))}
      {missing !== "" && <p className="quiet">{missing}</p>}
      {found.parts.length > 0 && (
        <Rows label="Energy" columns={kColumns} rows={found.parts} most={kMostSensors} />
      )}
      <Lines of={[...units, ...priceWords(found)]} />
    </>
  );
}

function Lines({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <ul>
      {of.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
