using System.Management.Automation;

namespace ProtoRpc.PowerShell.Parameters;

/// <summary>The names of all message formats.</summary>
internal sealed class FormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() => [.. MessageFormats.All.Select(format => format.Name)];
}

/// <summary>The names of the message formats that HTTP endpoints accept.</summary>
internal sealed class HttpFormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() => [.. MessageFormats.OfHttp.Select(format => format.Name)];
}
