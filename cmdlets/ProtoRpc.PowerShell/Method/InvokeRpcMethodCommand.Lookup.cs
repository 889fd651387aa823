using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Parameters;

namespace ProtoRpc;

// The method of a call.
public sealed partial class InvokeRpcMethodCommand
{
    private readonly Dictionary<RpcConnection, (RpcSchema? Schema, RpcMethodInfo Method)> _methods = [];

    private RpcMethodInfo FindMethod(out RpcClient client) => FindMethod(Resolve(Connection?[0]), out client);

    private RpcMethodInfo FindMethod(RpcConnection connection, out RpcClient client)
    {
        client = connection.Client;

        // The same for all objects of a pipeline, but for headers: a script may change them between two.
        bool isKnown = _methods.TryGetValue(connection, out (RpcSchema? Schema, RpcMethodInfo Method) found)
            && ReferenceEquals(found.Schema, client.Schema);
        if (!isKnown && ParameterSetName != ByEndpoint)
        {
            EndpointParameters.Check(Given, new EndpointUse(connection.Endpoint));
        }

        HeaderMapping.CheckSecrets(Header, connection.Endpoint);
        if (!isKnown)
        {
            RpcMethodInfo method = MethodOfCommand ?? FindMethod(connection);
            _methods[connection] = found = (client.Schema, method);
            if (IsVerbose)
            {
                WriteVerbose($"Calling {found.Method.FullName} on {connection.Endpoint}");
            }
        }

        return found.Method;
    }

    // A lazy connection to a gRPC server asks for the schema with its first call.
    private RpcMethodInfo FindMethod(RpcConnection connection)
    {
        RpcClient client = connection.Client;
        if (client.Schema is null && client.Endpoint.Has(EndpointFeatures.Reflection))
        {
            foreach (string warning in client.FetchSchema(Options(info: null), Cancellation).Warnings)
            {
                WriteWarning(warning);
            }
        }

        return client.Schema is not null ? client.GetMethod(Method)
            : throw (ParameterSetName == ByEndpoint
                ? NoSchemaOf(connection.Endpoint)
                : RpcErrors.NoSchema(connection));
    }
}
