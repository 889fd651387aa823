using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>Accepts the names of message formats.</summary>
/// <param name="ofHttp">Whether to accept only the formats of HTTP endpoints.</param>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class FormatNameAttribute(bool ofHttp = false) : ValidateArgumentsAttribute
{
    /// <summary>Whether no value is also accepted: null or an empty text.</summary>
    public bool AllowsNone { get; set; }

    protected override void Validate(object? arguments, EngineIntrinsics engineIntrinsics)
    {
        if (AllowsNone && arguments is (null or ""))
        {
            return;
        }

        IReadOnlyList<MessageFormat> known = ofHttp ? MessageFormats.OfHttp : MessageFormats.All;
        if (!known.Any(format => format.Name.Equals(arguments as string, StringComparison.OrdinalIgnoreCase)))
        {
            throw new ValidationMetadataException(
                $"'{arguments}' is not a format. Use {string.Join(", ", known.Select(f => f.Name))}.");
        }
    }
}
