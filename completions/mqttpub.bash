# Completion of mqttpub for bash; written by `mqttpub completion bash`.

_mqttpub() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
    local command='' try word index options='' words='' files='' values=none
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        try=${command:+$command }$word
        case "$try" in
            'pub'|'encode'|'encode connect'|'encode connack'|'encode publish'|'encode puback'|'encode pubrec'|'encode pubrel'|'encode pubcomp'|'encode subscribe'|'encode suback'|'encode unsubscribe'|'encode unsuback'|'encode pingreq'|'encode pingresp'|'encode disconnect'|'encode auth'|'decode'|'explain'|'walkthrough'|'broker'|'completion') command=$try ;;
        esac
    done
    case "$command" in
        '') options='--version --help' words='pub encode decode explain walkthrough broker completion' ;;
        'pub') options='-t --topic -m --message -f --file -s --stdin -n --null-message -q --qos -r --retain --dup --packet-id -pf --payload-format-indicator -e --message-expiry-interval -ct --content-type -rt --response-topic -cd --correlation-data -si --subscription-identifier -ta --topic-alias -up --user-property -h --host -p --port -V --mqtt-version -i --client-id -u --username -P --password --password-file -k --keep-alive --clean --no-clean --timeout --embedded --force -d --inspect --json --show-secrets --full --help' words='' ;;
        'encode') options='--format -d --inspect --show-secrets --full --json --help' words='connect connack publish puback pubrec pubrel pubcomp subscribe suback unsubscribe unsuback pingreq pingresp disconnect auth' ;;
        'encode connect') options='--flags --protocol-name --protocol-level --username-flag --password-flag --will-retain --no-will-retain --will-qos --will-flag --clean-start --no-clean-start --reserved --no-reserved -k --keep-alive -i --client-id --will-topic --will-payload -u --username -P --password -se --session-expiry-interval --authentication-method --authentication-data --request-problem-information --request-response-information --receive-maximum --topic-alias-maximum -up --user-property --maximum-packet-size --will-payload-format-indicator --will-message-expiry-interval --will-content-type --will-response-topic --will-correlation-data --will-delay-interval --will-user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode connack') options='--flags --reserved --session-present --no-session-present --unused --reason-code -se --session-expiry-interval --assigned-client-identifier --server-keep-alive --authentication-method --authentication-data --response-information --server-reference --reason-string --receive-maximum --topic-alias-maximum --maximum-qos --retain-available -up --user-property --maximum-packet-size --wildcard-subscription-available --subscription-identifier-available --shared-subscription-available -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode publish') options='--dup --no-dup -q --qos -r --retain --no-retain -t --topic --packet-id -m --message -f --file -s --stdin -n --null-message -pf --payload-format-indicator -e --message-expiry-interval -ct --content-type -rt --response-topic -cd --correlation-data -si --subscription-identifier -ta --topic-alias -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode puback') options='--flags --packet-id --reason-code --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode pubrec') options='--flags --packet-id --reason-code --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode pubrel') options='--header-dup --no-header-dup --header-qos --header-retain --no-header-retain --flags --packet-id --reason-code --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode pubcomp') options='--flags --packet-id --reason-code --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode subscribe') options='--header-dup --no-header-dup --header-qos --header-retain --no-header-retain --flags --packet-id -t --filter --reserved --retain-handling --retain-as-published --no-retain-as-published --no-local --no-no-local --unused -q --qos -si --subscription-identifier -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode suback') options='--flags --packet-id --reason-code --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode unsubscribe') options='--header-dup --no-header-dup --header-qos --header-retain --no-header-retain --flags --packet-id -t --filter -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode unsuback') options='--flags --packet-id --reason-code --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode pingreq') options='--flags -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode pingresp') options='--flags -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode disconnect') options='--flags --reason-code -se --session-expiry-interval --server-reference --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'encode auth') options='--flags --reason-code --authentication-method --authentication-data --reason-string -up --user-property -V --mqtt-version --remaining-length --format -d --inspect --show-secrets --full --help' words='' ;;
        'decode') options='-f --file --form -V --mqtt-version --direction --json --show-secrets --full --help' words='' files=1 ;;
        'explain') options='--json --help' words='' files=1 ;;
        'walkthrough') options='--pause --no-pause --help' words='' ;;
        'broker') options='-p --port -A --bind -q --quiet --help' words='' ;;
        'completion') options='--help' words='bash zsh fish' ;;
    esac
    case "$command $previous" in
        'pub -t'|'pub --topic') values='' ;;
        'pub -m'|'pub --message') values='' ;;
        'pub -f'|'pub --file') values='=files' ;;
        'pub -q'|'pub --qos') values='' ;;
        'pub --packet-id') values='' ;;
        'pub -pf'|'pub --payload-format-indicator') values='' ;;
        'pub -e'|'pub --message-expiry-interval') values='' ;;
        'pub -ct'|'pub --content-type') values='' ;;
        'pub -rt'|'pub --response-topic') values='' ;;
        'pub -cd'|'pub --correlation-data') values='' ;;
        'pub -si'|'pub --subscription-identifier') values='' ;;
        'pub -ta'|'pub --topic-alias') values='' ;;
        'pub -up'|'pub --user-property') values='' ;;
        'pub -h'|'pub --host') values='' ;;
        'pub -p'|'pub --port') values='' ;;
        'pub -V'|'pub --mqtt-version') values='' ;;
        'pub -i'|'pub --client-id') values='' ;;
        'pub -u'|'pub --username') values='' ;;
        'pub -P'|'pub --password') values='' ;;
        'pub --password-file') values='=files' ;;
        'pub -k'|'pub --keep-alive') values='' ;;
        'pub --timeout') values='' ;;
        'encode --format') values='hex raw base64 c' ;;
        'encode --json') values='' ;;
        'encode connect --flags') values='' ;;
        'encode connect --protocol-name') values='' ;;
        'encode connect --protocol-level') values='' ;;
        'encode connect --username-flag') values='' ;;
        'encode connect --password-flag') values='' ;;
        'encode connect --will-qos') values='' ;;
        'encode connect --will-flag') values='' ;;
        'encode connect -k'|'encode connect --keep-alive') values='' ;;
        'encode connect -i'|'encode connect --client-id') values='' ;;
        'encode connect --will-topic') values='' ;;
        'encode connect --will-payload') values='' ;;
        'encode connect -u'|'encode connect --username') values='' ;;
        'encode connect -P'|'encode connect --password') values='' ;;
        'encode connect -se'|'encode connect --session-expiry-interval') values='' ;;
        'encode connect --authentication-method') values='' ;;
        'encode connect --authentication-data') values='' ;;
        'encode connect --request-problem-information') values='' ;;
        'encode connect --request-response-information') values='' ;;
        'encode connect --receive-maximum') values='' ;;
        'encode connect --topic-alias-maximum') values='' ;;
        'encode connect -up'|'encode connect --user-property') values='' ;;
        'encode connect --maximum-packet-size') values='' ;;
        'encode connect --will-payload-format-indicator') values='' ;;
        'encode connect --will-message-expiry-interval') values='' ;;
        'encode connect --will-content-type') values='' ;;
        'encode connect --will-response-topic') values='' ;;
        'encode connect --will-correlation-data') values='' ;;
        'encode connect --will-delay-interval') values='' ;;
        'encode connect --will-user-property') values='' ;;
        'encode connect -V'|'encode connect --mqtt-version') values='' ;;
        'encode connect --remaining-length') values='' ;;
        'encode connect --format') values='hex raw base64 c' ;;
        'encode connack --flags') values='' ;;
        'encode connack --reserved') values='' ;;
        'encode connack --unused') values='' ;;
        'encode connack --reason-code') values='' ;;
        'encode connack -se'|'encode connack --session-expiry-interval') values='' ;;
        'encode connack --assigned-client-identifier') values='' ;;
        'encode connack --server-keep-alive') values='' ;;
        'encode connack --authentication-method') values='' ;;
        'encode connack --authentication-data') values='' ;;
        'encode connack --response-information') values='' ;;
        'encode connack --server-reference') values='' ;;
        'encode connack --reason-string') values='' ;;
        'encode connack --receive-maximum') values='' ;;
        'encode connack --topic-alias-maximum') values='' ;;
        'encode connack --maximum-qos') values='' ;;
        'encode connack --retain-available') values='' ;;
        'encode connack -up'|'encode connack --user-property') values='' ;;
        'encode connack --maximum-packet-size') values='' ;;
        'encode connack --wildcard-subscription-available') values='' ;;
        'encode connack --subscription-identifier-available') values='' ;;
        'encode connack --shared-subscription-available') values='' ;;
        'encode connack -V'|'encode connack --mqtt-version') values='' ;;
        'encode connack --remaining-length') values='' ;;
        'encode connack --format') values='hex raw base64 c' ;;
        'encode publish -q'|'encode publish --qos') values='' ;;
        'encode publish -t'|'encode publish --topic') values='' ;;
        'encode publish --packet-id') values='' ;;
        'encode publish -m'|'encode publish --message') values='' ;;
        'encode publish -f'|'encode publish --file') values='=files' ;;
        'encode publish -pf'|'encode publish --payload-format-indicator') values='' ;;
        'encode publish -e'|'encode publish --message-expiry-interval') values='' ;;
        'encode publish -ct'|'encode publish --content-type') values='' ;;
        'encode publish -rt'|'encode publish --response-topic') values='' ;;
        'encode publish -cd'|'encode publish --correlation-data') values='' ;;
        'encode publish -si'|'encode publish --subscription-identifier') values='' ;;
        'encode publish -ta'|'encode publish --topic-alias') values='' ;;
        'encode publish -up'|'encode publish --user-property') values='' ;;
        'encode publish -V'|'encode publish --mqtt-version') values='' ;;
        'encode publish --remaining-length') values='' ;;
        'encode publish --format') values='hex raw base64 c' ;;
        'encode puback --flags') values='' ;;
        'encode puback --packet-id') values='' ;;
        'encode puback --reason-code') values='' ;;
        'encode puback --reason-string') values='' ;;
        'encode puback -up'|'encode puback --user-property') values='' ;;
        'encode puback -V'|'encode puback --mqtt-version') values='' ;;
        'encode puback --remaining-length') values='' ;;
        'encode puback --format') values='hex raw base64 c' ;;
        'encode pubrec --flags') values='' ;;
        'encode pubrec --packet-id') values='' ;;
        'encode pubrec --reason-code') values='' ;;
        'encode pubrec --reason-string') values='' ;;
        'encode pubrec -up'|'encode pubrec --user-property') values='' ;;
        'encode pubrec -V'|'encode pubrec --mqtt-version') values='' ;;
        'encode pubrec --remaining-length') values='' ;;
        'encode pubrec --format') values='hex raw base64 c' ;;
        'encode pubrel --header-qos') values='' ;;
        'encode pubrel --flags') values='' ;;
        'encode pubrel --packet-id') values='' ;;
        'encode pubrel --reason-code') values='' ;;
        'encode pubrel --reason-string') values='' ;;
        'encode pubrel -up'|'encode pubrel --user-property') values='' ;;
        'encode pubrel -V'|'encode pubrel --mqtt-version') values='' ;;
        'encode pubrel --remaining-length') values='' ;;
        'encode pubrel --format') values='hex raw base64 c' ;;
        'encode pubcomp --flags') values='' ;;
        'encode pubcomp --packet-id') values='' ;;
        'encode pubcomp --reason-code') values='' ;;
        'encode pubcomp --reason-string') values='' ;;
        'encode pubcomp -up'|'encode pubcomp --user-property') values='' ;;
        'encode pubcomp -V'|'encode pubcomp --mqtt-version') values='' ;;
        'encode pubcomp --remaining-length') values='' ;;
        'encode pubcomp --format') values='hex raw base64 c' ;;
        'encode subscribe --header-qos') values='' ;;
        'encode subscribe --flags') values='' ;;
        'encode subscribe --packet-id') values='' ;;
        'encode subscribe -t'|'encode subscribe --filter') values='' ;;
        'encode subscribe --reserved') values='' ;;
        'encode subscribe --retain-handling') values='' ;;
        'encode subscribe --unused') values='' ;;
        'encode subscribe -q'|'encode subscribe --qos') values='' ;;
        'encode subscribe -si'|'encode subscribe --subscription-identifier') values='' ;;
        'encode subscribe -up'|'encode subscribe --user-property') values='' ;;
        'encode subscribe -V'|'encode subscribe --mqtt-version') values='' ;;
        'encode subscribe --remaining-length') values='' ;;
        'encode subscribe --format') values='hex raw base64 c' ;;
        'encode suback --flags') values='' ;;
        'encode suback --packet-id') values='' ;;
        'encode suback --reason-code') values='' ;;
        'encode suback --reason-string') values='' ;;
        'encode suback -up'|'encode suback --user-property') values='' ;;
        'encode suback -V'|'encode suback --mqtt-version') values='' ;;
        'encode suback --remaining-length') values='' ;;
        'encode suback --format') values='hex raw base64 c' ;;
        'encode unsubscribe --header-qos') values='' ;;
        'encode unsubscribe --flags') values='' ;;
        'encode unsubscribe --packet-id') values='' ;;
        'encode unsubscribe -t'|'encode unsubscribe --filter') values='' ;;
        'encode unsubscribe -up'|'encode unsubscribe --user-property') values='' ;;
        'encode unsubscribe -V'|'encode unsubscribe --mqtt-version') values='' ;;
        'encode unsubscribe --remaining-length') values='' ;;
        'encode unsubscribe --format') values='hex raw base64 c' ;;
        'encode unsuback --flags') values='' ;;
        'encode unsuback --packet-id') values='' ;;
        'encode unsuback --reason-code') values='' ;;
        'encode unsuback --reason-string') values='' ;;
        'encode unsuback -up'|'encode unsuback --user-property') values='' ;;
        'encode unsuback -V'|'encode unsuback --mqtt-version') values='' ;;
        'encode unsuback --remaining-length') values='' ;;
        'encode unsuback --format') values='hex raw base64 c' ;;
        'encode pingreq --flags') values='' ;;
        'encode pingreq -V'|'encode pingreq --mqtt-version') values='' ;;
        'encode pingreq --remaining-length') values='' ;;
        'encode pingreq --format') values='hex raw base64 c' ;;
        'encode pingresp --flags') values='' ;;
        'encode pingresp -V'|'encode pingresp --mqtt-version') values='' ;;
        'encode pingresp --remaining-length') values='' ;;
        'encode pingresp --format') values='hex raw base64 c' ;;
        'encode disconnect --flags') values='' ;;
        'encode disconnect --reason-code') values='' ;;
        'encode disconnect -se'|'encode disconnect --session-expiry-interval') values='' ;;
        'encode disconnect --server-reference') values='' ;;
        'encode disconnect --reason-string') values='' ;;
        'encode disconnect -up'|'encode disconnect --user-property') values='' ;;
        'encode disconnect -V'|'encode disconnect --mqtt-version') values='' ;;
        'encode disconnect --remaining-length') values='' ;;
        'encode disconnect --format') values='hex raw base64 c' ;;
        'encode auth --flags') values='' ;;
        'encode auth --reason-code') values='' ;;
        'encode auth --authentication-method') values='' ;;
        'encode auth --authentication-data') values='' ;;
        'encode auth --reason-string') values='' ;;
        'encode auth -up'|'encode auth --user-property') values='' ;;
        'encode auth -V'|'encode auth --mqtt-version') values='' ;;
        'encode auth --remaining-length') values='' ;;
        'encode auth --format') values='hex raw base64 c' ;;
        'decode -f'|'decode --file') values='=files' ;;
        'decode --form') values='auto hex base64 escaped raw' ;;
        'decode -V'|'decode --mqtt-version') values='' ;;
        'decode --direction') values='client server' ;;
        'broker -p'|'broker --port') values='' ;;
        'broker -A'|'broker --bind') values='' ;;
    esac
    COMPREPLY=()
    if [[ $values == =files ]]; then
        COMPREPLY=($(compgen -f -- "$current"))
    elif [[ $values != none ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
    elif [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$current"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        [[ $files ]] && COMPREPLY+=($(compgen -f -- "$current"))
    fi
}

complete -o filenames -F _mqttpub mqttpub
