/**
 * Checks a template before it is saved: its syntax, and the names of variables and filters. Runs only in the rendering
 * thread, which can be terminated. The template's own names are known: those of loops, and those that a tag such as
 * `assign` sets anywhere in the template.
 */
import { type Arguments, type Template, type Token, toValueSync, TypeGuards, Value } from 'liquidjs'
import { showInvisible, startOfText } from '../kernel/values/text.ts'
import { suggestNear } from '../kernel/suggestion.ts'
import { findEncodedDelimiters, positionOf } from './encoded-delimiters.ts'
import { createEngine } from './engine/liquid.ts'
import { createKnownVariables, type KnownVariables, type PathStep, type TemplateNames } from './known-variables.ts'
import {
  type PartialTemplateSources,
  type TemplateFault,
  type TemplateField,
  templateFields,
} from './template-sources.ts'

/** The maximum number of faults that are reported for all templates together. */
const maxFaults = 20
const maxNameLength = 100

/** Filters of other template languages, with their names in Liquid. */
const filterAliases = new Map([
  ['upper', 'upcase'],
  ['uppercase', 'upcase'],
  ['lower', 'downcase'],
  ['lowercase', 'downcase'],
])

/** HTML is parsed like text: both engines differ only in how they render. */
const engine = createEngine()

/** Finds the faults of all templates, each with line and column, in the order of the templates. */
export function findFaults(
  sources: PartialTemplateSources,
  names: TemplateNames,
  setCurrentField: (field: TemplateField) => void = () => {},
): TemplateFault[] {
  const faults: TemplateFault[] = []
  for (const field of templateFields) {
    const source = sources[field]
    if (!source) continue
    setCurrentField(field)
    for (const message of findMessages(source, createKnownVariables(field, names))) {
      faults.push({ field, message })
      if (faults.length === maxFaults) return faults
    }
  }
  return faults
}

/** A syntax error is the only message: the rest of the template cannot be parsed. */
function* findMessages(source: string, variables: KnownVariables): Generator<string> {
  const parsed = parse(source)
  if (typeof parsed === 'string') {
    yield parsed
    return
  }
  yield* findEncodedDelimiters(source)
  const check: Check = { source, variables, ownNames: new Set() }
  for (const { template } of walk(parsed, []))
    for (const name of template.localScope?.() ?? []) check.ownNames.add(name.content)
  for (const { template, loopNames } of walk(parsed, []))
    for (const argument of template.arguments?.() ?? []) yield* checkArgument(check, argument, loopNames)
}

function parse(source: string): Template[] | string {
  try {
    return engine.parse(source)
  } catch (error) {
    const [message = 'cannot be parsed'] = error instanceof Error ? error.message.split('\n') : []
    const at = /^(.*), line:(\d+), col:(\d+)$/.exec(message)
    if (!at) return message
    // LiquidJS reads a single `=` as the start of a filter, and reports the column after it.
    const character = source.split('\n')[Number(at[2]) - 1]?.[Number(at[3]) - 2]
    const hint = character === '=' ? ' (to compare, use "==")' : ''
    return `${at[1]} at line ${at[2]}, column ${at[3]}${hint}`
  }
}

interface Visit {
  template: Template
  /** The names of the loops around the template. */
  loopNames: readonly string[]
}

/** Walks templates and the templates in their tags, in the order of the source. */
function* walk(templates: readonly Template[], loopNames: readonly string[]): Generator<Visit> {
  const pending: Visit[] = templates.toReversed().map((template) => ({ template, loopNames }))
  for (let visit = pending.pop(); visit; visit = pending.pop()) {
    yield visit
    const { template } = visit
    if (!template.children) continue
    const names = template.blockScope ? [...visit.loopNames, ...template.blockScope()] : visit.loopNames
    const children = toValueSync<Template[]>(template.children(false, true))
    for (const child of children.toReversed()) pending.push({ template: child, loopNames: names })
  }
}

interface Check {
  source: string
  variables: KnownVariables
  /** The names that the template sets with `assign`, `capture`, `increment` and `decrement`. */
  ownNames: Set<string>
}

type Argument = Arguments extends Iterable<infer Item> ? Item : never

function* checkArgument(check: Check, argument: Argument, loopNames: readonly string[]): Generator<string> {
  if (argument instanceof Value) yield* checkExpression(check, argument, loopNames)
  else yield* checkToken(check, argument, loopNames)
}

interface FilteredExpression {
  initial: { postfix: readonly Token[] }
  filters: readonly { name: string; args: readonly unknown[] }[]
}

/** Checks a value and its filters: `contact.firstName | default: campaign.name`. */
function* checkExpression(
  check: Check,
  { initial, filters }: FilteredExpression,
  loopNames: readonly string[],
): Generator<string> {
  for (const token of initial.postfix) yield* checkToken(check, token, loopNames)
  let end = Math.max(0, ...initial.postfix.map((token) => token.end))
  for (const { name, args } of filters) {
    if (!engine.filterNames.has(name)) {
      end = findFilter(check.source, name, end)
      const near = filterAliases.get(name) ?? suggestNear(name, engine.filterNames)
      yield describe(check, { what: 'filter', name, offset: end, near })
    }
    // A named argument is a pair of name and value.
    for (const arg of args) yield* checkToken(check, Array.isArray(arg) ? arg[1] : arg, loopNames)
  }
}

/** Returns the offset of a filter's name. A parsed filter does not have its position. */
function findFilter(source: string, name: string, from: number): number {
  for (let at = source.indexOf(name, from); at >= 0; at = source.indexOf(name, at + 1)) {
    let before = at - 1
    while (/\s/.test(source[before] ?? '')) before -= 1
    if (source[before] === '|') return at
  }
  return from
}

function* checkToken(check: Check, token: unknown, loopNames: readonly string[]): Generator<string> {
  if (TypeGuards.isRangeToken(token)) {
    yield* checkToken(check, token.lhs, loopNames)
    yield* checkToken(check, token.rhs, loopNames)
  } else if (TypeGuards.isFilteredValueToken(token)) yield* checkExpression(check, token, loopNames)
  else if (TypeGuards.isPropertyAccessToken(token)) {
    // A literal or a range in front of the properties: `"text".size`.
    if (token.variable) yield* checkToken(check, token.variable, loopNames)
    else yield* checkPath(check, token.props.map(toStep), { offset: token.begin, loopNames })
    for (const prop of token.props) yield* checkToken(check, prop, loopNames)
  }
}

/** A name in brackets that is no literal, as in `contact[key]`, is known only when the template is rendered. */
function toStep(prop: unknown): PathStep {
  const isLiteral = TypeGuards.isWordToken(prop) || TypeGuards.isQuotedToken(prop) || TypeGuards.isNumberToken(prop)
  return isLiteral ? prop.content : undefined
}

function* checkPath(
  check: Check,
  path: readonly PathStep[],
  { offset, loopNames }: { offset: number; loopNames: readonly string[] },
): Generator<string> {
  const root = String(path[0] ?? '')
  if (check.ownNames.has(root) || loopNames.includes(root) || check.variables.has(path)) return
  yield describe(check, { what: 'variable', name: formatPath(path), offset, near: check.variables.suggest(path) })
}

/** Formats a path as in a template: `contact.firstName`, `contact["shoe size"]`, `contact[…]`. */
function formatPath(path: readonly PathStep[]): string {
  const steps = path.map((step, index) => {
    if (step === undefined) return '[…]'
    if (typeof step === 'string' && /^[\w-]+$/.test(step)) return index === 0 ? step : `.${step}`
    return `[${JSON.stringify(step)}]`
  })
  return steps.join('')
}

function describe(
  { source }: Check,
  fault: { what: string; name: string; offset: number; near: string | undefined },
): string {
  const shown = fault.name.length > maxNameLength ? `${startOfText(fault.name, maxNameLength)}…` : fault.name
  const name = showInvisible(shown)
  const suggestion = fault.near === undefined ? '' : ` (did you mean "${fault.near}"?)`
  return `unknown ${fault.what} "${name}" at ${positionOf(source, fault.offset)}${suggestion}`
}
