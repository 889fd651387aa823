using System.Collections;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.Rendering;

/// <summary>The text of a message's object: JSON in one line, as the cells of records have it, which is read
/// again where text is taken for a message. Absent fields and empty lists are left out.</summary>
/// <remarks>Controls and characters without width are escaped, also where JSON does not ask for it.</remarks>
internal sealed class ViewJson
{
    /// <summary>The maximum number of characters. A longer text ends with an ellipsis, so it is not valid
    /// JSON.</summary>
    public const int MaxLength = 1 << 20;

    private readonly IObjectModel _objects;
    private readonly StringBuilder _text = new();

    private ViewJson(IObjectModel objects) => _objects = objects;

    private bool IsFull => _text.Length >= MaxLength;

    public static string Format(IObjectModel objects, object value)
    {
        ViewJson json = new(objects);
        json.Write(value, 0);
        return json.IsFull ? json._text.Append(ViewText.Ellipsis).ToString() : json._text.ToString();
    }

    private void Write(object? value, int depth)
    {
        value = value is DeferredValue deferred ? deferred.Peek(MaxLength, out _) : value;
        value = _objects.Unwrap(value);
        switch (value)
        {
            case null or DBNull:
                _text.Append("null");
                break;
            case bool flag:
                _text.Append(flag ? "true" : "false");
                break;
            case sbyte or byte or short or ushort or int or uint or long or ulong or decimal:
                _text.Append(Convert.ToString(value, CultureInfo.InvariantCulture));
                break;
            case double number when double.IsFinite(number):
                _text.Append(number.ToString("R", CultureInfo.InvariantCulture));
                break;
            case float number when float.IsFinite(number):
                _text.Append(number.ToString("R", CultureInfo.InvariantCulture));
                break;
            case byte[] bytes:
                WriteText(Convert.ToBase64String(bytes.AsSpan(0, Math.Min(bytes.Length, MaxLength))));
                break;
            case DateTimeOffset when ExactTime.OfDate(value) is var (seconds, nanos):
                WriteText(WellKnownTime.TextOfTimestamp(seconds, nanos)!);
                break;
            case TimeSpan when ExactTime.OfTimeSpan(value) is var (seconds, nanos):
                WriteText(WellKnownTime.TextOfDuration(seconds, nanos)!);
                break;
            case string text:
                WriteText(text);
                break;
            default:
                WriteNested(value, depth);
                break;
        }
    }

    private void WriteNested(object value, int depth)
    {
        if (depth > MessageLayout.MaxDepth)
        {
            // Only an object of a script can be this deep, or contain itself.
            WriteText(ViewText.Ellipsis);
        }
        else if (_objects.IsMessage(value))
        {
            WriteMembers(
                ViewMember.GetMembers(_objects, value, type: null)
                    .Where(member => !member.IsOmitted(ViewValue.From(_objects, member.Value, 1)))
                    .Select(member => KeyValuePair.Create(member.Name, member.Value)),
                depth);
        }
        else if (value is IDictionary map)
        {
            WriteMembers(
                ViewValue.EntriesOf(map).Select(entry => KeyValuePair.Create(KeyOf(entry.Key), entry.Value)),
                depth);
        }
        else if (value is IEnumerable list)
        {
            WriteList(list, depth);
        }
        else
        {
            WriteText(Convert.ToString(value, CultureInfo.InvariantCulture) ?? "");
        }
    }

    private void WriteMembers(IEnumerable<KeyValuePair<string, object?>> members, int depth)
    {
        char separator = '{';
        foreach ((string name, object? value) in members)
        {
            if (IsFull)
            {
                return;
            }

            _text.Append(separator);
            separator = ',';
            WriteText(name);
            _text.Append(':');
            Write(value, depth + 1);
        }

        _text.Append(separator == '{' ? "{}" : "}");
    }

    private void WriteList(IEnumerable list, int depth)
    {
        char separator = '[';
        foreach (object? item in list)
        {
            if (IsFull)
            {
                return;
            }

            _text.Append(separator);
            separator = ',';
            Write(item, depth + 1);
        }

        _text.Append(separator == '[' ? "[]" : "]");
    }

    private void WriteText(string text)
    {
        _text.Append('"');
        ViewText.Append(_text, text, MaxLength, quoted: true);
        _text.Append('"');
    }

    private static string KeyOf(object key) => key is bool flag
        ? flag ? "true" : "false"
        : Convert.ToString(key, CultureInfo.InvariantCulture) ?? "";
}
