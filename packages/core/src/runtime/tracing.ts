import type { Tracer } from './tracer.ts'

/** Returns undefined if no collector is configured. The OpenTelemetry library is then not loaded. */
export async function openTracer(
  serviceName: string,
  config: { OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined; OTEL_TRACES_SAMPLER_ARG: number },
): Promise<Tracer | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio } = config
  if (endpoint === undefined) return undefined
  const { openOtlpTracer } = await import('./otlp-tracer.ts')
  return openOtlpTracer(serviceName, endpoint, ratio)
}
