// The few form fields that menus and dialogs share.

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  change: (value: T) => void;
}

export function Choice<T extends string>({ label, value, options, change }: ChoiceProps<T>) {
  return (
    <label className="form-line">
      <span>{label}</span>
      <select value={value} onChange={(event) => change(event.currentTarget.value as T)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface SwitchProps {
  label: string;
  on: boolean;
  set: (on: boolean) => void;
  testid?: string;
}

export function Switch({ label, on, set, testid }: SwitchProps) {
  return (
    <label className="form-check">
      <input
        type="checkbox"
        data-testid={testid}
        checked={on}
        onChange={(event) => set(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

// Taken over at Enter or when it is left, so that half a number changes nothing.
export function NumberField(props: {
  label: string;
  value: number;
  change: (value: number) => void;
}) {
  const { label, value, change } = props;
  return (
    <input
      key={value}
      type="number"
      step="any"
      aria-label={label}
      defaultValue={value}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      onBlur={(event) => {
        const next = event.currentTarget.valueAsNumber;
        if (Number.isFinite(next) && next !== value) change(next);
      }}
    />
  );
}

// Taken over at Enter or when it is left. `list`: the id of its suggestions.
export function TextField(props: {
  label: string;
  value: string;
  change: (value: string) => void;
  placeholder?: string;
  list?: string;
  testid?: string;
}) {
  const { label, value, change, placeholder, list, testid } = props;
  return (
    <input
      key={value}
      type="text"
      aria-label={label}
      placeholder={placeholder}
      list={list}
      data-testid={testid}
      defaultValue={value}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      onBlur={(event) => {
        const next = event.currentTarget.value.trim();
        if (next !== value) change(next);
      }}
    />
  );
}
