using System.Management.Automation;

namespace ProtoRpc;

/// <summary>The names of all message formats.</summary>
public sealed class FormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() => [.. MessageFormats.All.Select(format => format.Name)];
}

/// <summary>The names of the message formats that HTTP endpoints accept.</summary>
public sealed class HttpFormatNames : IValidateSetValuesGenerator
{
    public string[] GetValidValues() => [.. MessageFormats.OfHttp.Select(format => format.Name)];
}
