using System.Management.Automation;
using ProtoRpc.Calls;

namespace ProtoRpc.PowerShell;

/// <summary>A failed call in the listener's records.</summary>
internal static class HandlerFailure
{
    /// <summary>What failed, with the text that a remote caller does not get, and the id that he gets.</summary>
    public static WarningRecord ToRecord(RpcFailedCall failed)
    {
        string what = failed.Context is { } context
            ? $"The call of {context.Method.FullName} by {CallerOf(context)}"
            : "A call";
        string id = failed.CorrelationId is null ? "" : $" (id {failed.CorrelationId})";
        return new WarningRecord(
            $"{what} failed with {failed.Error.GetType().FullName}: {failed.Error.Message}{id}");
    }

    private static string CallerOf(RpcCallContext context) => context.User.Name is { Length: > 0 } name ? name
        : context.ClientAddress.Length > 0 ? context.ClientAddress
        : "an anonymous caller";
}
