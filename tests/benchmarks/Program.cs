using ProtoRpc.Benchmarks;
using ProtoRpc.Benchmarks.Codec;
using ProtoRpc.Benchmarks.Gateway;
using ProtoRpc.Benchmarks.Grpc;
using ProtoRpc.Benchmarks.Guard;
using ProtoRpc.Benchmarks.Http;
using ProtoRpc.Benchmarks.Load;
using ProtoRpc.Benchmarks.Peers;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Scale;
using ProtoRpc.Benchmarks.Security;
using ProtoRpc.Benchmarks.Stubs;
using ProtoRpc.Benchmarks.Telemetry;
using ProtoRpc.Benchmarks.Transfer;
using ProtoRpc.Benchmarks.Transport;

const string Usage = """
    dotnet run -c Release --project tests/benchmarks -- COMMAND [options]

    transport|gateway|security|codec|formats|http|grpc|stubs|load|all

      --transports ncalrpc,tcp   the transports to measure, of ncalrpc, np and tcp
      --records 0                records in each message, as 0,10,100,1000
      --kinds raw,bound          the stacks of transport: raw, bound, generated, dynamic, hashtable, rpc
      --stacks async             of http: those that one of the words names, as json, rest, connect, grpc,
                                 unix, dynamic, generated, async, blocking; none for none
      --clients 5 --callers 3    client processes, and blocking callers in each
      --warmup 10                seconds, for each stack
      --rounds 5 --seconds 2     measured rounds for each stack, one stack after the other, and their length

    report                       runs the experiments and writes a page with charts for each
      --only orders              of rpc, orders, bindings, raw, shell, codec, scale; all of them unless said
      --peers grpc-js,x=PATH     of rpc: grpc-dotnet, and grpc-cpp and grpc-js, which are built, or any
                                 program by its name and path; none for none;
                                 docs/benchmarks/README.md says more
      --pode PATH                of shell: the module Pode
      --out docs/benchmarks      where the pages are written

    guard [idle] [import]        measures what must not grow: the memory of idle connections, the time of the
                                 module's import; ends with 1 where a figure exceeds its bound
    guard calls                  the same of the memory of millions of calls, in some minutes
    guard scale                  the same of how costs grow with the number of parts, in some minutes
    transfer                     sends one message of a GiB in parts, and a GiB through a bare socket
    telemetry [options]          what logs, activities and measurements cost a call
    security                     compares authenticated callers with anonymous ones, and counts handshakes
    callers ENDPOINT [options]   calls a listener of Benchmark.SampleService, and prints calls/s

    tests/benchmarks/shell.ps1 measures the PowerShell module.
    """;

if (args.Length == 0)
{
    Console.WriteLine(Usage);
    return 2;
}

try
{
    switch (args[0])
    {
        case "transport":
            TransportBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "gateway":
            GatewayBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "security":
            SecurityBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "telemetry":
            TelemetryBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "codec":
            CodecBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "formats":
            FormatBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "http":
            HttpBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "grpc":
            GrpcBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "stubs":
            StubBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "report":
            ReportCommand.Run(BenchmarkOptions.Parse(args[1..], BenchmarkOptions.OfReport));
            return 0;
        case "load":
            LoadBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "guard":
            return GuardBenchmark.Run(args[1..]);
        case "transfer":
            return TransferBenchmark.Run();
        case "all":
            TransportBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            CodecBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            HttpBenchmark.Run(BenchmarkOptions.Parse(args[1..]));
            return 0;
        case "callers":
            TransportBenchmark.Call(args[1], BenchmarkOptions.Parse(args[2..]));
            return 0;

        // The parts that run as processes of their own.
        case WorkerRole.Server:
            return WorkerRole.Serve(args[1], args[2..]);
        case WorkerRole.Client:
            return WorkerRole.Call(args[1], args[2..]);
        case ScaleBenchmark.Role:
            return ScaleBenchmark.Run();
        case GrpcDotnetPeer.Name:
            return GrpcDotnetPeer.RunAsync(args[1..]).GetAwaiter().GetResult();
        default:
            Console.WriteLine(Usage);
            return 2;
    }
}
catch (ArgumentException e)
{
    Console.Error.WriteLine(e.Message);
    return 2;
}
