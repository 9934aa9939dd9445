/** What the readers of rows hand on: values that are not checked yet, and why a row or a value is not imported. */
import { toPrintable } from '../words/names.ts'

export type Values = Record<string, unknown>

/** The values of a row in two parts, so that an error in one of them does not hide what the other one says. */
export interface RowValues {
  /** The keys of the person, and what the row says about emails. */
  said: Values
  /** All values of the contact, with its keys. Read when they are needed. */
  readContact: () => ContactValues
}

/** The values of a contact, and warnings about those that cannot be read. */
export type ContactValues = { values: Values; warnings: RowIssue[] } | { issue: RowIssue }

/** What is wrong with a row, or with the value of `path`. */
export interface RowIssue {
  path?: string
  message: string
}

/** The same with the line of the row; `column` is null if it concerns the whole row. Contains no value. */
export interface RowError {
  line: number
  column: string | null
  message: string
}

export const rowError = (line: number, { path, message }: RowIssue): RowError => ({
  line,
  column: path === undefined ? null : toPrintable(path),
  message,
})
