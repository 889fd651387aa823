using System.Diagnostics;
using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Objects;
using static System.FormattableString;

namespace ProtoRpc;

[Cmdlet(VerbsDiagnostic.Test, "RpcEndpoint", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(RpcPingResult), typeof(bool))]
public sealed class TestRpcEndpointCommand : RpcPingCommand
{
    [Parameter]
    [Deadline]
    public TimeSpan? Deadline { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(PingMessageCompleter))]
    public object? Message { get; set; }

    [Parameter]
    public SwitchParameter Quiet { get; set; }

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            RpcClient client = FindClient();
            RpcPingOptions ping = new() { Timeout = Deadline, Request = ToRequest(client.Schema, Message) };
            TryPing(client.Endpoint, () => client.Ping(ping, Cancellation));
            return;
        }

        RpcSchema? schema = FindSchema();
        foreach (EndpointTarget target in FindTargets())
        {
            Guard(target.Name, () => Ping(target, SchemaOf(target, schema)));
        }
    }

    // A wrong parameter says nothing about the endpoint, so it is an error even with -Quiet.
    private void Ping(EndpointTarget target, RpcSchema? schema)
    {
        RpcEndpoint endpoint = target.Require();
        CheckParameters(target, isRaw: schema is null && Service is null);
        RpcClientOptions options = CreateOptions();
        IMessage? request = ToRequest(schema, Message);
        TryPing(endpoint, () => Ping(endpoint, schema, options, Deadline, compares: true, request));
    }

    private void TryPing(RpcEndpoint endpoint, Func<RpcPingResult> ping)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            RpcPingResult result = ping();
            WriteVerbose(TextOf(endpoint, "OK", start)
                + Invariant($", the ping itself {result.Latency.TotalMilliseconds:0.###} ms")
                + (result.Health.Length == 0 ? "" : $", {TerminalText.Neutralize(result.Health)}"));
            Report(result);
        }
        catch (RpcException e) when (!Stopping)
        {
            WriteVerbose(TextOf(endpoint, e.Code.ToString(), start));
            if (Quiet)
            {
                WriteObject(false);
            }
            else
            {
                WriteError(RpcErrors.ToRecord(e, endpoint.ToString()));
            }
        }
    }

    private static string TextOf(RpcEndpoint endpoint, string status, long start) => Invariant(
        $"Ping of {endpoint}: {status} in {Stopwatch.GetElapsedTime(start).TotalMilliseconds:0.###} ms");

    // Converts the reply to the object that the shell shows for messages.
    private static object ToShell(RpcPingResult result)
    {
        if (result.Reply is not { } reply)
        {
            return result;
        }

        PSObject shown = new(result);
        shown.Properties.Add(new PSNoteProperty(
            nameof(result.Reply), ShellMapper.Create(asHashtable: false).ToObject(reply)));
        return shown;
    }

    private void Report(RpcPingResult result)
    {
        foreach (string difference in result.SchemaDifferences)
        {
            WriteWarning($"The schema of '{result.Endpoint}' differs from -Schema: {difference}");
        }

        if (Service is not null && result is { Health: "", Services.Count: 0 })
        {
            WriteWarning(
                $"'{result.Endpoint}' answers, but does not list its services, so '{Service}' may "
                + "be missing.");
        }

        WriteObject(Quiet ? IsWell(result) && result.SchemaDifferences.Count == 0 : ToShell(result));
    }
}
