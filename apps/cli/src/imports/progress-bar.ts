/** "[######..............]  30 %  3.0 MB"; without the bar if the total is unknown. */
export function bar(done: number, total: number | undefined, format: (amount: number) => string): string {
  if (!total) return format(done)
  const share = Math.min(1, done / total)
  const filled = Math.round(share * 24)
  return `[${'#'.repeat(filled)}${'.'.repeat(24 - filled)}] ${Math.floor(share * 100)} %  ${format(done)}`
}
