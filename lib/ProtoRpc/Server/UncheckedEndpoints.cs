namespace ProtoRpc.Server;

/// <summary>Finds endpoints that would serve anonymous callers of a server that checks its callers on other
/// endpoints, because no option says whether they should. The one place that decides this for servers,
/// applications, cmdlets and the tool.</summary>
internal static class UncheckedEndpoints
{
    /// <summary>The first of such endpoints; null if there is none.</summary>
    /// <param name="endpoints">The endpoints.</param>
    /// <param name="faces">The protocols, with the checks that only some of them run.</param>
    /// <param name="security">The authentication of all endpoints.</param>
    /// <param name="isChecked">Whether callers are also checked by other code than the faces.</param>
    public static RpcEndpoint? FindFirst(
        IEnumerable<RpcEndpoint> endpoints, IReadOnlyList<IServerFace> faces, RpcServerSecurity security,
        bool isChecked) => isChecked || faces.Any(face => face.ChecksCallers)
            ? endpoints.FirstOrDefault(endpoint => faces.FirstOrDefault(face => face.Serves(endpoint.Kind))
                ?.IsOpenByDefault(endpoint, security) == true)
            : null;

    /// <summary>Whether authorization rules keep anonymous callers from each of some methods. The methods of
    /// ProtoRpc itself, such as pings, are not among them.</summary>
    public static bool AreClosedBy(
        IReadOnlyList<IRpcInterceptor> interceptors, IEnumerable<RpcMethodInfo> methods)
    {
        RpcAuthorization[] all = [.. interceptors.OfType<RpcAuthorization>()];
        return methods.All(method => all.Any(rules => !rules.AllowsAnonymous(method.FullName)));
    }

    /// <summary>The error for such an endpoint.</summary>
    public static RpcException ErrorOf(RpcEndpoint endpoint)
    {
        const string Authentication =
            $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.Authentication)}";
        return new RpcException(
            RpcStatusCode.FailedPrecondition,
            $"'{endpoint}' would serve anonymous callers: the server checks its callers, but the checks do "
            + $"not run on this endpoint. Start the server with one of: {Authentication} without None, "
            + "which requires authentication; "
            + $"{nameof(RpcServerOptions)}.{nameof(RpcServerOptions.Interceptors)} with authorization rules "
            + $"that allow anonymous callers no method; or {Authentication} None, which accepts anonymous "
            + "callers.")
        {
            ErrorId = RpcErrorIds.UncheckedEndpoint,
            Endpoint = endpoint,
        };
    }
}
