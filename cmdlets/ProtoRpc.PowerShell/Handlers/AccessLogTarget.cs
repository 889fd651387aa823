using System.Management.Automation;

namespace ProtoRpc.PowerShell.Handlers;

/// <summary>The value of <c>-AccessLog</c>: the path of a file, or a script block.</summary>
internal static class AccessLogTarget
{
    /// <summary>Creates the access log of a listener. Its warnings become records of the listener.</summary>
    /// <param name="value">The value of the parameter; null for no log.</param>
    /// <param name="environment">What the block uses of the caller's session.</param>
    /// <param name="streams">The records of the listener.</param>
    /// <param name="resolve">Resolves a path by the rules of the shell.</param>
    /// <param name="script">Dispose of it after the listener has stopped; null for a file.</param>
    /// <exception cref="RpcException">InvalidArgument: the value is neither a path nor a block.</exception>
    public static RpcAccessLog? Of(
        object? value, HandlerEnvironment environment, HandlerStreams streams, Func<string, string> resolve,
        out IDisposable? script)
    {
        script = null;
        object? given = value is PSObject wrapped ? wrapped.BaseObject : value;
        switch (given)
        {
            case null:
                return null;
            case ScriptBlock block:
                AccessLogScript written =
                    new(environment, environment.AddPlain(block, "-AccessLog"), streams);
                script = written;
                return RpcAccessLog.To(written.Write, Warn);
            case string { Length: > 0 } path:
                return RpcAccessLog.ToFile(resolve(path), Warn);
            case FileInfo file:
                return RpcAccessLog.ToFile(file.FullName, Warn);
            default:
                throw new RpcException(
                    RpcStatusCode.InvalidArgument,
                    "-AccessLog takes the path of a file or a script block, not "
                    + (given is string ? "an empty text." : $"a {given.GetType().FullName}."))
                {
                    ErrorId = RpcErrorIds.InvalidAccessLog,
                };
        }

        void Warn(string text) => streams.Add(new WarningRecord(text));
    }
}
