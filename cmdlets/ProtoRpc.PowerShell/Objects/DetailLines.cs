using ProtoRpc.Rendering;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>The details of a failed call as lines under its text:
/// <c>google.rpc.ErrorInfo { reason: "QUOTA" }</c>.</summary>
/// <remarks>A peer writes the details. So their number and length are limited, and characters that control a
/// terminal are replaced.</remarks>
internal static class DetailLines
{
    private const int MaxDetails = 10;
    private const int MaxCells = 1000;

    public static IEnumerable<string> Format(IReadOnlyList<object> details)
    {
        foreach (object detail in details.Take(MaxDetails))
        {
            yield return Format(detail);
        }

        if (details.Count > MaxDetails)
        {
            yield return $"and {details.Count - MaxDetails} more details";
        }
    }

    private static string Format(object detail)
    {
        if (detail is DynamicMessage message)
        {
            // The detail is nested too deeply for an object.
            return ViewText.Neutral($"{message.Type.FullName} {{ {ViewText.Ellipsis} }}", MaxCells);
        }

        RpcMessageInfo? type = null;
        if (detail is PSObject custom)
        {
            ObjectTypeNames.TryGetType(custom, out type);
        }

        return ViewLine.FormatTyped(PSObjectModel.Instance, detail, type, MaxCells);
    }
}
