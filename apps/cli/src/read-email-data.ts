/** Reads the values for the template of an email: from a JSON file, and from `name=value` arguments. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { CommandFailed, usageError } from './command.ts'
import { reasonOf } from './describe-error.ts'

type Data = Record<string, unknown>

/** The values of the file, and over them those of the arguments. */
export async function readData({
  file,
  values,
}: {
  file?: string | undefined
  values: readonly string[]
}): Promise<Data> {
  const fromFile = file === undefined ? {} : parseFile(file, await read(file))
  return { ...fromFile, ...Object.fromEntries(values.map(parseValue)) }
}

async function read(file: string): Promise<string> {
  if (file === '-') return await text(createReadStream('', { fd: 0 }))
  return await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CommandFailed(`${file}: ${reasonOf(error)}`)
  })
}

function parseFile(file: string, content: string): Data {
  const value = parseJson(content)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandFailed(`${file}: must be a JSON object such as {"verifyUrl":"https://shop.example/x"}`)
  return value as Data
}

/** `n:=3`, as in HTTPie, is JSON: a number, true, false, null or a list. `name=3` is the text "3". */
function parseValue(argument: string): [string, unknown] {
  const [, name = '', operator, value = ''] = /^(\w+)(:?=)([^]*)$/.exec(argument) ?? []
  if (operator === '=') return [name, value]
  const parsed = operator === undefined ? undefined : parseJson(value)
  if (parsed === undefined)
    throw usageError(`"${argument}": must be name=text, or name:=json such as total:=12.5 for what is no text`)
  return [name, parsed]
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
