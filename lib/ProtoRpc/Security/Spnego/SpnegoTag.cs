using System.Formats.Asn1;

namespace ProtoRpc.Security.Spnego;

/// <summary>The tags of fields.</summary>
internal static class SpnegoTag
{
    public static Asn1Tag Of(int number) => new(TagClass.ContextSpecific, number, isConstructed: true);
}
