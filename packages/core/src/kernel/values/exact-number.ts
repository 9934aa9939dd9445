/** A number is stored as a double (IEEE 754): integers beyond 2^53 and decimals with many digits become other numbers. */

export const inexactNumber = 'cannot be stored exactly: use a field of type TEXT'

/** Whether a number from JSON is the one that was sent. It may have been rounded if it is an integer beyond 2^53. */
export function isExactNumber(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value)
}

/** Whether the digits of a number in text, such as "-12.50" or "1e3", stay the same as a double. */
export function isExactNumberText(text: string): boolean {
  const value = Number(text)
  if (!Number.isFinite(value) || !isExactNumber(value)) return false
  const digits = significantDigits(text)
  // Up to 15 digits survive the way to a double and back (DBL_DIG), unless it is smaller than DBL_MIN. More may, as in
  // the shortest form of a double.
  const isNormal = Math.abs(value) >= 2.225_073_858_507_201_4e-308
  return (isNormal && digits.length <= 15) || digits === significantDigits(String(value))
}

function significantDigits(number: string): string {
  const [mantissa = ''] = number.toLowerCase().split('e')
  return mantissa.replaceAll(/\D/g, '').replace(/^0+/, '').replace(/0+$/, '')
}
