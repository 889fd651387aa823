using System.Management.Automation;
using Google.Protobuf;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Objects;

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
    public object? Message { get; set; }

    [Parameter]
    public SwitchParameter Quiet { get; set; }

    protected override void Process()
    {
        if (ParameterSetName == ByConnection)
        {
            RpcClient client = FindClient();
            RpcPingOptions ping = new() { Timeout = Deadline, Request = ToRequest(client.Schema, Message) };
            TryPing(client.Endpoint.ToString(), () => Report(client.Ping(ping, Cancellation)));
            return;
        }

        RpcSchema? schema = FindSchema();
        foreach (EndpointTarget target in FindTargets())
        {
            Guard(target.Name, () => Ping(target, SchemaOf(target, schema)));
        }
    }

    // What was asked for wrongly says nothing about the endpoint, so it is an error with -Quiet too.
    private void Ping(EndpointTarget target, RpcSchema? schema)
    {
        RpcEndpoint endpoint = target.Require();
        CheckParameters(target, isRaw: schema is null && Service is null);
        RpcClientOptions options = CreateOptions();
        IMessage? request = ToRequest(schema, Message);
        TryPing(
            endpoint.ToString(),
            () => Report(Ping(endpoint, schema, options, Deadline, compares: true, request)));
    }

    private void TryPing(string endpoint, Action ping)
    {
        try
        {
            ping();
        }
        catch (RpcException) when (Quiet && !Stopping)
        {
            WriteObject(false);
        }
        catch (RpcException e) when (!Stopping)
        {
            WriteError(RpcErrors.ToRecord(e, endpoint));
        }
    }

    // The reply as messages are shown.
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
                $"'{result.Endpoint}' answers, but does not say which services it has, so '{Service}' may "
                + "be missing.");
        }

        WriteObject(Quiet ? IsWell(result) && result.SchemaDifferences.Count == 0 : ToShell(result));
    }
}
