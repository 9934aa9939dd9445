import type { Issue } from '../../kernel/errors.ts'
import { toPrintable } from '../file/column-names.ts'

/** Why a row, or a value of it, is not imported; `column` is null if that concerns the whole row. Contains no value. */
export interface RowError {
  line: number
  column: string | null
  message: string
}

export const rowError = (line: number, message: string): RowError => ({ line, column: null, message })

/** The first issue of a row, as its error. */
export function toRowError(line: number, [issue]: readonly Issue[]): RowError {
  const { path = null, message = 'is invalid' } = issue ?? {}
  return { line, column: path === null ? null : toPrintable(path), message }
}
