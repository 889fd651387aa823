using System.Reflection.Emit;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;

namespace ProtoRpc.Tests.Architecture;

/// <summary>The tokens in the code of a method: the types, methods and fields that it touches.</summary>
internal static class MethodTokens
{
    private static readonly Dictionary<ushort, OperandType> Operands = typeof(OpCodes)
        .GetFields()
        .Select(field => (OpCode)field.GetValue(null)!)
        .ToDictionary(code => unchecked((ushort)code.Value), code => code.OperandType);

    public static IEnumerable<EntityHandle> Of(MethodBodyBlock body)
    {
        List<EntityHandle> found = [];
        BlobReader code = body.GetILReader();
        while (code.RemainingBytes > 0)
        {
            ushort value = code.ReadByte();
            if (value == 0xFE)
            {
                value = (ushort)(0xFE00 | code.ReadByte());
            }

            switch (Operands[value])
            {
                case OperandType.InlineType or OperandType.InlineMethod or OperandType.InlineField
                    or OperandType.InlineTok or OperandType.InlineSig:
                    found.Add(MetadataTokens.EntityHandle(code.ReadInt32()));
                    break;
                case OperandType.InlineSwitch:
                    int cases = code.ReadInt32();
                    code.Offset += 4 * cases;
                    break;
                case OperandType.InlineI8 or OperandType.InlineR:
                    code.Offset += 8;
                    break;
                case OperandType.InlineVar:
                    code.Offset += 2;
                    break;
                case OperandType.ShortInlineBrTarget or OperandType.ShortInlineI
                    or OperandType.ShortInlineVar:
                    code.Offset += 1;
                    break;
                case OperandType.InlineNone:
                    break;
                default:
                    code.Offset += 4;
                    break;
            }
        }

        return found;
    }
}
