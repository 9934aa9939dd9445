import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** The output of a command. Colors and redrawing are used only on a terminal; NO_COLOR disables colors. */
export interface Terminal {
  /** Prints the result to standard output. */
  print(text: string): void
  /** Prints a message to standard error. */
  log(text: string): void
  /** On a terminal, shows a line until the next output replaces it. Otherwise prints one line in ten seconds at most. */
  showProgress(line: string): void
  /** On a terminal, replaces the previous screen. Otherwise prints the screen after it. */
  redraw(screen: string): void
  style(style: Style, text: string): string
}

const progressIntervalMs = 10_000

export function openTerminal(
  output: NodeJS.WriteStream,
  errors: NodeJS.WriteStream,
  now: () => number = Date.now,
): Terminal {
  let hasProgress = false
  let printedAt = now()
  function write(stream: NodeJS.WriteStream, text: string) {
    if (hasProgress) errors.write(eraseLine)
    hasProgress = false
    stream.write(text)
  }
  function printSometimes(line: string) {
    if (now() - printedAt < progressIntervalMs) return
    printedAt = now()
    errors.write(`${line}\n`)
  }
  return {
    print: (text) => write(output, `${text}\n`),
    log: (text) => write(errors, `${text}\n`),
    showProgress(line) {
      if (!errors.isTTY) return printSometimes(line)
      errors.write(eraseLine + line.slice(0, (errors.columns || 80) - 1))
      hasProgress = true
    },
    redraw: (screen) => write(output, output.isTTY ? `${eraseScreen}${screen}\n` : `${screen}\n\n`),
    style: (style, text) => styleText(style, text, { stream: output }),
  }
}

const eraseLine = '\r\u001b[2K'
const eraseScreen = '\u001b[H\u001b[2J'

/** Aligns the columns. Columns of numbers, but not of timestamps, are right-aligned. */
export function formatTable(rows: readonly (readonly (string | number)[])[]): string {
  const widths = (rows[0] ?? []).map((_cell, at) => Math.max(...rows.map((row) => String(row[at] ?? '').length)))
  const isNumeric = widths.map((_width, at) =>
    rows.slice(1).every((row) => /^(?!\d{4}-)[-–\d]/.test(String(row[at] ?? ''))),
  )
  return rows
    .map((row) =>
      row
        .map((cell, at) => {
          const [text, width] = [String(cell), widths[at] ?? 0]
          return isNumeric[at] ? text.padStart(width) : text.padEnd(width)
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** "1,234"; with a noun "1 row" and "1,234 rows". */
export function formatCount(count: number, noun?: string, plural = `${noun}s`): string {
  const number = count.toLocaleString('en')
  return noun === undefined ? number : `${number} ${count === 1 ? noun : plural}`
}

/** Rounds to one unit: "850 ms", "12 s", "5 min", "3 h", "2 d". */
export function formatAge(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} d`
}

/** "12.3 MB"; gigabytes from one on. */
export const formatBytes = (bytes: number) =>
  bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
